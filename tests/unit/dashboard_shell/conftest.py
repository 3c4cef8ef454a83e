"""Views of the shell read the words of all faces, as the application brings them."""

from dashboard.base.face import use
from dashboard.systems import FACES

use(FACES)
