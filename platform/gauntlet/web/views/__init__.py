"""Views: check the request, call one function, answer."""
