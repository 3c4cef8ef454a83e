/* Where the dashboard is: the addresses of its paths, below the prefix that a proxy may put before them. */
const told = document.querySelector('meta[name="path-prefix"]');
const PREFIX = told instanceof HTMLMetaElement ? told.content : "";

/** @param {string} text */
function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no address of ours
  }
}

/** The address of one of the dashboard's paths, '/plan?run=r1'.
    @param {string} path */
export const addressOf = (path) => PREFIX + path;

/** The dashboard's own path of an address's path.
    @param {string} address
    @returns {string} */
export function ownPath(address) {
  if (!PREFIX) return address;
  const [there, above] = [plain(address), plain(PREFIX)];
  return `${there}/`.startsWith(`${above}/`) ? there.slice(above.length) || "/" : address;
}
