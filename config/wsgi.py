"""WSGI entry point."""

import gc
import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from common.deep_stack import with_deep_stack

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = with_deep_stack(get_wsgi_application())
# All pages are loaded before the first request; one that cannot be loaded ends the process. What is loaded stays:
# searching it for garbage takes a tenth of a second each time and would hold up requests.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()
