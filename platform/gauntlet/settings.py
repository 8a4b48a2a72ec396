"""Settings, from the environment. Each is listed once, with its default and a sentence; a wrong one stops the start.

=====================  =============================  =================================================================
GAUNTLET_VAR           var/ beside manage.py          everything that this installation writes but the sandbox images
SECRET_KEY             made once, kept in var/        signs sessions and links
GAUNTLET_SECRET        made once, kept in var/        what hidden scenarios and opaque ids are made from
DEBUG                  false                          Django's debug pages; only for development
ALLOWED_HOSTS          localhost,127.0.0.1,[::1]      host names under which the site answers
SITE_URL               http://localhost:8000          address of the site in mails and in the command's output
DATABASE_URL           embedded PostgreSQL            postgres://user:password@host/name
BROKER_URL             embedded Valkey                redis://... or redis+socket://...
EMAIL_URL              consolemail://                 where mails go
STORAGE_BACKEND        file system under var/         dotted path of a Django storage class for artifacts
STORAGE_OPTIONS        {}                             its options, as JSON
SECURE                 false                          true behind HTTPS: secure cookies, HSTS, forwarded protocol
MAX_BUNDLE_BYTES       1073741824                     largest upload of a submission
MAX_UNPACKED_BYTES     4294967296                     largest total of the files in an archive
MAX_ARCHIVE_FILES      20000                          most files in an archive
MAX_IMAGE_BYTES        4294967296                     largest archive of a container image, as it is uploaded
MAX_IMAGE_UNPACKED_BYTES  8589934592                  largest total of the files in an image
MAX_IMAGE_ENTRIES      300000                         most files, folders and links in all layers of an image
UPLOAD_HOURS           24                             how long an upload that is sent in parts is kept for the next one
MAX_OPEN_UPLOADS       4                              most of them that one person may have at once
SCORING_PROGRAMS       scoring_programs/              folder of the built-in scoring programs
SANDBOX                best available                 bubblewrap or docker
DOCKER_RUNTIME         the engine's own default       what Docker starts containers with, e.g. runsc (docs/security.md)
GAUNTLET_IMAGES        var/images beside manage.py    where the sandbox images are installed
GAUNTLET_IMAGE_CACHE_BYTES  21474836480               how much of participants' images a host keeps ready
RUN_SLICE              20                             episodes in one run job
LEASE_SECONDS          60                             how long a worker holds a job without a sign of life
RETRY_SECONDS          30                             how long a host leaves a job to others after it failed there by
                                                      the host's own fault; longer after each further time
STOP_SECONDS           10                             how long a worker that is to end may still work on its job
MIN_FREE_BYTES         1073741824                     a worker whose disk has less room takes no job, and no large
                                                      upload begins that would leave less
ARTIFACT_SECONDS       86400                          how long a stored file that nothing uses is kept
MODEL_PROVIDERS        {}                             providers of language models, as JSON by name: "url", "key",
                                                      "limit_field", and "competitions" (slugs) where not all may use
                                                      it (docs/models.md)
MODEL_PRICES           {}                             of a million tokens, as JSON by model or "provider/model":
                                                      {"in": "0.15", "out": "0.60"}
MODEL_MAX_TOKENS       4096                           longest answer of a model, and what a call without a limit gets
MODEL_CONCURRENCY      8                              a submission's model calls at once, unless its phase says it
MODEL_CALL_SECONDS     180                            how long a provider may take, each time it is asked
MODEL_TRIES            4                              how often a provider that fails is asked
MODEL_BACKOFF_SECONDS  1                              wait before the second time, doubled before each further one
LOG_SHOWN_BYTES        262144                         how much of an agent's log a page or the API shows, from its end
BELL_SECONDS           10                             how often the beat rings, whatever happens
QUEUES                 default                        names of queues that competitions may use, with commas
WORKER_QUEUES          every one of QUEUES            those whose jobs this host's workers do; `celery -Q` overrides it
LOG_FORMAT             console                        console or json
LOG_LEVEL              INFO                           least level that is logged
DEFAULT_FROM_EMAIL     gauntlet@localhost             sender of mails
ACCOUNT_EMAIL_VERIFICATION  optional                  mandatory: an account works once its address is confirmed
=====================  =============================  =================================================================
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import structlog
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from kombu import Queue

from gauntlet.environment import (
    broker_address,
    choice,
    database,
    env,
    flag,
    folder,
    importable,
    kept_secret,
    mail,
    mapping,
    models,
    names_of_queues,
    positive,
    site,
)
from gauntlet.metering.configuration import read_prices, read_providers

BASE_DIR = Path(__file__).resolve().parents[2]

VAR = Path(env.str("GAUNTLET_VAR", default=str(BASE_DIR / "var"))).resolve()
try:
    VAR.mkdir(parents=True, exist_ok=True)
except PermissionError:
    raise ImproperlyConfigured(f"GAUNTLET_VAR is {VAR}, which this user may not make") from None
except OSError as error:
    raise ImproperlyConfigured(f"GAUNTLET_VAR is {VAR}, which cannot be a folder ({error.strerror})") from None

SECRET_KEY = kept_secret("SECRET_KEY", VAR)
GAUNTLET_SECRET = kept_secret("GAUNTLET_SECRET", VAR)
DEBUG = flag("DEBUG", default=False)
SECURE = flag("SECURE", default=False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
SITE_URL = site("SITE_URL", "http://localhost:8000")
CSRF_TRUSTED_ORIGINS = [SITE_URL]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.admin",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "rest_framework",
    "drf_spectacular",
    "csp",
    "django_prometheus",
    "gauntlet.accounts",
    "gauntlet.queues",
    "gauntlet.storage",
    "gauntlet.competitions",
    "gauntlet.submissions",
    "gauntlet.trajectories",
    "gauntlet.leaderboards",
    "gauntlet.metering",
    "gauntlet.evaluation",
    "gauntlet.reviews",
    "gauntlet.web",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "gauntlet.readable_requests.ReadableAddresses",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "gauntlet.readable_requests.ReadableForms",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "gauntlet.web.middleware.PageErrors",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "gauntlet.urls"
ASGI_APPLICATION = "gauntlet.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        # First, so that our pages of allauth's views win over its own.
        "DIRS": [Path(__file__).parent / "web" / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


def _services() -> tuple[str, str, bool]:
    """The database's and the broker's address, and whether one of them is ours to run.

    What the environment does not name runs embedded under var/.
    """
    database: str = env.str("DATABASE_URL", default="")
    broker = broker_address("BROKER_URL")
    if database and broker:
        return database, broker, False
    from gauntlet_runtime import services

    urls = services.ensure(VAR)
    return database or urls.database_url, broker or urls.broker_url, True


_DATABASE_URL, CELERY_BROKER_URL, SERVICES_EMBEDDED = _services()
DATABASES: dict[str, dict[str, Any]] = {"default": database("DATABASE_URL", _DATABASE_URL)}
DATABASES["default"]["ATOMIC_REQUESTS"] = False
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASES["default"]["CONN_MAX_AGE"] = 60
# A host that is cut off from the database hears so in seconds, not after the quarter of an hour that TCP would try. The
# server does too, not after two hours: what the host's transaction had locked, everybody else waits for.
DATABASES["default"]["OPTIONS"] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds
    "options": "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 "
    "-c tcp_user_timeout=20000",
    **DATABASES["default"].get("OPTIONS", {}),
}

STORAGES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": importable("STORAGE_BACKEND", "django.core.files.storage.FileSystemStorage"),
        "OPTIONS": mapping("STORAGE_OPTIONS", {"location": str(VAR / "artifacts")}),
    },
    "staticfiles": {"BACKEND": "gauntlet.web.staticfiles.StaticFiles"},
}
if STORAGES["default"]["BACKEND"].startswith("storages.backends.s3"):
    # What is read goes to the disk beyond this size; the default would hold objects in memory as a whole.
    STORAGES["default"]["OPTIONS"].setdefault("max_memory_size", 8 << 20)
if DEBUG:
    STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
STATIC_URL = "/static/"
STATIC_ROOT = VAR / "static"
STATIC_ROOT.mkdir(exist_ok=True)  # whitenoise looks for it, also where files are served from the apps
WHITENOISE_USE_FINDERS = True
WHITENOISE_MANIFEST_STRICT = False

FILE_UPLOAD_TEMP_DIR = str(VAR / "uploads")
Path(FILE_UPLOAD_TEMP_DIR).mkdir(exist_ok=True)
# Every upload goes to a file at once: the memory of the server does not grow with what people send.
FILE_UPLOAD_HANDLERS = ["gauntlet.submissions.uploads.LimitedUploadHandler"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 << 20
FILE_UPLOAD_PERMISSIONS = 0o600

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = choice("ACCOUNT_EMAIL_VERIFICATION", "optional", ("none", "optional", "mandatory"))
LOGIN_REDIRECT_URL = "/"
LOGIN_URL = "account_login"
ACCOUNT_LOGOUT_REDIRECT_URL = "/"

EMAIL_CONFIG = mail("EMAIL_URL", "consolemail://")
vars().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="gauntlet@localhost")

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "gauntlet.accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticatedOrReadOnly",
        "gauntlet.accounts.permissions.TokenScopes",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PARSER_CLASSES": [
        "gauntlet.api_requests.Json",
        "rest_framework.parsers.FormParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_PAGINATION_CLASS": "gauntlet.api_requests.Pages",
    "PAGE_SIZE": 100,
    "EXCEPTION_HANDLER": "gauntlet.api_errors.handle",
    "DEFAULT_THROTTLE_RATES": {"tokens": "10/min", "claims": "1200/min", "hand_backs": "120/min"},
}
SPECTACULAR_SETTINGS = {"TITLE": "Gauntlet", "VERSION": "1", "SERVE_INCLUDE_SCHEMA": False}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],  # the leaderboard names its cells for phones in a style element
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
CSRF_FAILURE_VIEW = "gauntlet.web.views.errors.form_expired"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
if SECURE:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31_536_000

CELERY_TASK_IGNORE_RESULT = True
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"  # in memory: the usual one does not start on a file that it broke off
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # workers and beat wait for a broker however long it is away
CELERY_BROKER_CHANNEL_ERROR_RETRY = True  # and for one that is full, or does not let them in
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "ack_emulation": False,  # a ring that was taken is gone: nothing is kept in the broker to come again
    "max_retries": 0,  # who rings does not wait for a broker that is away
    "socket_timeout": 5,  # nor for one that hangs
    "socket_connect_timeout": 5,
}
# A ring that a busy host took would wake nobody while it lasts, and an idle host not hear it.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_DISABLE_PREFETCH = True
CELERY_TASK_DEFAULT_QUEUE = "default"

MAX_BUNDLE_BYTES = positive("MAX_BUNDLE_BYTES", 1 << 30)
MAX_UNPACKED_BYTES = positive("MAX_UNPACKED_BYTES", 4 << 30)
MAX_ARCHIVE_FILES = positive("MAX_ARCHIVE_FILES", 20_000)
MAX_IMAGE_BYTES = positive("MAX_IMAGE_BYTES", 4 << 30)
MAX_IMAGE_UNPACKED_BYTES = positive("MAX_IMAGE_UNPACKED_BYTES", 8 << 30)
MAX_IMAGE_ENTRIES = positive("MAX_IMAGE_ENTRIES", 300_000)
UPLOAD_HOURS = positive("UPLOAD_HOURS", 24)
MAX_OPEN_UPLOADS = positive("MAX_OPEN_UPLOADS", 4)
SCORING_PROGRAMS = folder("SCORING_PROGRAMS", BASE_DIR / "scoring_programs")
SANDBOX = choice("SANDBOX", "", ("", "bubblewrap", "docker"))
DOCKER_RUNTIME = env.str("DOCKER_RUNTIME", default="")
SANDBOX_IMAGES = Path(env.str("GAUNTLET_IMAGES", default=str(BASE_DIR / "var" / "images"))).resolve()
RUN_SLICE = positive("RUN_SLICE", 20)
LEASE_SECONDS = positive("LEASE_SECONDS", 60)
RETRY_SECONDS = positive("RETRY_SECONDS", 30)
STOP_SECONDS = positive("STOP_SECONDS", 10)
MIN_FREE_BYTES = positive("MIN_FREE_BYTES", 1 << 30)
ARTIFACT_SECONDS = positive("ARTIFACT_SECONDS", 24 * 3600)
MODEL_PROVIDERS = models("MODEL_PROVIDERS", read_providers)
MODEL_PRICES = models("MODEL_PRICES", read_prices)
MODEL_MAX_TOKENS = positive("MODEL_MAX_TOKENS", 4096)
MODEL_CONCURRENCY = positive("MODEL_CONCURRENCY", 8)
MODEL_CALL_SECONDS = positive("MODEL_CALL_SECONDS", 180)
MODEL_TRIES = positive("MODEL_TRIES", 4)
MODEL_BACKOFF_SECONDS = positive("MODEL_BACKOFF_SECONDS", 1)
LOG_SHOWN_BYTES = positive("LOG_SHOWN_BYTES", 256 << 10)
BELL_SECONDS = positive("BELL_SECONDS", 10)
QUEUES = list(dict.fromkeys(["default", *names_of_queues("QUEUES", ["default"])]))
WORKER_QUEUES = names_of_queues("WORKER_QUEUES", QUEUES)
CELERY_TASK_QUEUES = [Queue(name) for name in WORKER_QUEUES]
# What a task may ask of a sandbox at most; more is refused at import with the number.
OPERATOR_CAPS: dict[str, float] = {
    "episode_seconds": 3600,
    "turns": 1000,
    "tool_calls": 1000,
    "parallel_tool_calls": 16,
    "answer_bytes": 10 << 20,
    "record_bytes": 1 << 30,
    "memory": 16 << 30,
    "cpus": 8,
    "processes": 1024,
    "scratch": 16 << 30,
    "output": 4 << 30,
    "log": 64 << 20,
}

LOG_LEVEL = choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
LOG_FORMAT = choice("LOG_FORMAT", "console", ("console", "json"))
_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
structlog.configure(
    processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "structured": {
            "()": structlog.stdlib.ProcessorFormatter,
            "foreign_pre_chain": _SHARED,
            "processor": structlog.processors.JSONRenderer()
            if LOG_FORMAT == "json"
            else structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
}
