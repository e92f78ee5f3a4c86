"""Static files with hashed names, including the imports of JavaScript modules."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # the base is not typed
    """Rewrites imports between ES modules to hashed names, so that all modules can be cached for ever."""

    support_js_module_import_aggregation = True
