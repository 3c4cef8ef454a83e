/* The Monitor page: what is picked in the field becomes a graph, by way of the address. */
import { go } from "./moment.js";

const FIELD = "pw-monitor-add";

document.addEventListener("input", (event) => {
  const field = event.target;
  if (!(field instanceof HTMLInputElement) || field.id !== FIELD) return;
  const options = document.querySelectorAll("#pw-monitor-choices option");
  const picked = [...options].find((option) => option.value === field.value);
  if (!picked) return;
  field.value = "";
  go({ show: picked.dataset.show });
});
