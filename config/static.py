"""Static files with hashed names, including the imports of JavaScript modules."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # the base is not typed
    """An ES module that imports another asks for the other's hashed name, so both can be cached for ever."""

    support_js_module_import_aggregation = True
