"""The ASGI entry point."""

import os

from django.core.asgi import get_asgi_application

from gauntlet.body_limit import limit_bodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gauntlet.settings")
application = limit_bodies(get_asgi_application())
