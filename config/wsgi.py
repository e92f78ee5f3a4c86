"""WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

from common.deep_stack import with_deep_stack

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = with_deep_stack(get_wsgi_application())
