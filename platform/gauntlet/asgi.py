"""The ASGI entry point."""

import os

from django.core.asgi import get_asgi_application

from gauntlet.body_limit import limit_bodies
from gauntlet.readable_requests import refuse_unreadable_heads

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gauntlet.settings")
application = refuse_unreadable_heads(limit_bodies(get_asgi_application()))
