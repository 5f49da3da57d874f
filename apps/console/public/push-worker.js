// The worker of web push: it shows what the gateway sends and opens it. It handles no requests and stores nothing.

addEventListener("install", () => skipWaiting());

addEventListener("push", (event) => event.waitUntil(show(event.data)));

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.tag));
});

async function show(data) {
  const pages = await consolePages();
  // A page in sight notifies by itself when it lacks the focus.
  if (pages.some(({ visibilityState }) => visibilityState === "visible")) return;
  const { id, title, body } = data.json();
  // A page out of sight may have shown the same one; the tag replaces it.
  await registration.showNotification(String(title), { body: String(body), tag: String(id) });
}

async function open(id) {
  const pages = await consolePages();
  const page = pages.find(({ visibilityState }) => visibilityState === "visible") ?? pages[0];
  if (page === undefined) {
    await clients.openWindow(`/approvals?id=${encodeURIComponent(id)}`);
    return;
  }
  // The page goes there without being loaded anew, which keeps what is written in it.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a client is of the worker's origin
  page.postMessage({ opened: id });
  await page.focus();
}

/** The open pages of the console; the gateway has others at its address. */
async function consolePages() {
  const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
  return pages.filter(({ url }) => !/^\/(api|auth)\//.test(new URL(url).pathname));
}
