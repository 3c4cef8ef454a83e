"""Views and panels are drawn with the faces of all systems, as the application brings them."""

from dashboard.base.face import use
from dashboard.systems import FACES

use(FACES)
