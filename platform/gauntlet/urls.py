"""Routes of the site."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

urlpatterns = [
    path("", include("gauntlet.web.urls")),
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("api/v1/", include("gauntlet.api")),
    path("api/v1/schema", SpectacularAPIView.as_view(), name="api-schema"),
]

handler400 = "gauntlet.web.views.errors.bad_request"
handler403 = "gauntlet.web.views.errors.forbidden"
handler404 = "gauntlet.web.views.errors.not_found"
handler500 = "gauntlet.web.views.errors.server_error"
