"""People behind the scores: experts who judge what a judge has judged, and people who say how real scenarios are."""
