import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { CDPSession, Page } from "playwright-core";
import { until } from "@switchyard/local-servers/until";
import {
  startPushService,
  type SubscribedBrowser,
} from "../../services/gateway/test/push-service.ts";
import { findChromium } from "./chromium.ts";
import { consoleWorld, skip as withoutChromium } from "./console-world.ts";
import type { Look } from "./start-console.ts";

/** Chromium's program without a user interface takes notifications and shows none. */
const skip =
  withoutChromium ||
  (findChromium()?.includes("headless-shell") === true &&
    "notifications need Chromium with its user interface");
const service = await startPushService();
const constants = { pushOrigins: service.origin, pushRetryMs: 5 };
const there = await consoleWorld({ constants }, skip);

const started = async (agent: string, input: string): Promise<string> =>
  String((await there().send("/runs", { agent, input }))["runId"]);

interface Pushed extends Look {
  readonly browser: SubscribedBrowser;
  /** Hands a message to the worker, as the browser does that got it from the push service. */
  readonly deliver: (text: string) => Promise<void>;
  /** Has the worker handle a message, and resolves when it has. */
  readonly handle: (text: string) => Promise<void>;
  /** The notifications that the worker shows. */
  readonly shown: () => Promise<{ title: string; body: string; tag: string }[]>;
  /** Clicks the only notification; a page that would be opened is recorded in the worker, since a script's click may open none. */
  readonly click: () => Promise<string | null>;
}

/** Chromium without Google's services cannot subscribe, so the page's `PushManager` is that of the test's push service. */
const SUBSCRIBED = (subscription: SubscribedBrowser["subscription"]): string => `
  const kept = () => sessionStorage.getItem("subscribed") === null ? null : {
    options: { applicationServerKey: Uint8Array.from(atob(${JSON.stringify(subscription.publicKey)}.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)).buffer },
    toJSON: () => (${JSON.stringify(subscription)}),
    unsubscribe: async () => {
      sessionStorage.removeItem("subscribed");
      sessionStorage.setItem("unsubscribed", "once");
    },
  };
  PushManager.prototype.getSubscription = async () => kept();
  PushManager.prototype.subscribe = async (options) => {
    sessionStorage.setItem("subscribed", JSON.stringify(options));
    return kept();
  };
  Object.defineProperty(document, "hasFocus", { value: () => window.isLooking ?? true });
`;

/** A person who has turned "Notify me" on, in a browser that gets web push. */
async function notified(t: TestContext): Promise<Pushed> {
  const { dev, token } = there();
  const look = await there().look(t, { permissions: ["notifications"] });
  const { page, go, context } = look;
  const headers = { authorization: `Bearer ${token}` };
  const offered = await fetch(`${dev.httpUrl}/api/v1/push`, { headers });
  const { publicKey } = (await offered.json()) as { publicKey: string };
  const browser = service.subscribe(publicKey);
  await page.addInitScript(SUBSCRIBED(browser.subscription));
  // It stays open when the console's page is closed.
  const devtools = await context.newCDPSession(await context.newPage());
  const ids = registrationsOf(await context.newCDPSession(page), devtools);
  await go("/approvals");
  assert.equal(await page.getByTestId("notify-reach").count(), 0);
  assert.equal(await workerOf(page), false, "no worker unless the person wants to be notified");
  await page.getByTestId("notify").click();
  await page.getByText("also while no page is open").waitFor();
  const options = await page.evaluate<string>(`sessionStorage.getItem("subscribed")`);
  assert.deepEqual(JSON.parse(options), { userVisibleOnly: true, applicationServerKey: publicKey });
  const registrationId = await until(() => ids().at(-1));
  const worker = () => context.serviceWorkers().at(-1) ?? assert.fail("no worker runs");
  return {
    ...look,
    browser,
    async deliver(data) {
      const message = { origin: dev.httpUrl, registrationId, data };
      await devtools.send("ServiceWorker.deliverPushMessage", message);
    },
    handle: (data) =>
      worker().evaluate<void>(`(async () => {
        const event = new PushEvent("push", { data: ${JSON.stringify(data)} });
        const work = [];
        event.waitUntil = (promise) => work.push(promise);
        dispatchEvent(event);
        await Promise.all(work);
      })()`),
    shown: () =>
      worker().evaluate<{ title: string; body: string; tag: string }[]>(
        `registration.getNotifications().then((all) => all.map(({ title, body, tag }) => ({ title, body, tag })))`,
      ),
    click: () =>
      worker().evaluate<string | null>(`(async () => {
        let opened = null;
        clients.openWindow = async (url) => { opened = url; };
        const [notification] = await registration.getNotifications();
        const event = new NotificationEvent("notificationclick", { notification });
        const work = [];
        event.waitUntil = (promise) => work.push(promise);
        dispatchEvent(event);
        await Promise.allSettled(work);
        return opened;
      })()`),
  };
}

/** Returns the ids of registrations that were not deleted, as they come. */
function registrationsOf(...sessions: readonly CDPSession[]): () => string[] {
  const ids = new Set<string>();
  for (const session of sessions) {
    session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      for (const { registrationId, isDeleted } of registrations)
        if (isDeleted) ids.delete(registrationId);
        else ids.add(registrationId);
    });
    void session.send("ServiceWorker.enable");
  }
  return () => [...ids];
}

const workerOf = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>(
    "navigator.serviceWorker.getRegistration().then((one) => one !== undefined)",
  );
const messageOf = ({ messages }: SubscribedBrowser, at: number): Promise<string> =>
  until(() => messages[at]?.text);

test(
  "a person whose console is closed is notified by web push, and a click opens the call",
  { skip },
  async (t) => {
    const { page, context, browser, deliver, shown, click } = await notified(t);
    await page.close();
    const runId = await started("careful", "notes.md");
    const text = await messageOf(browser, 0);
    const { id } = JSON.parse(text) as { id: string };
    assert.deepEqual(JSON.parse(text), {
      id,
      title: "careful waits for your approval",
      body: "files › get_file_info",
    });
    await deliver(text);
    const notes = await until(shown, ({ length }) => length > 0);
    const words = { title: "careful waits for your approval", body: "files › get_file_info" };
    assert.deepEqual(notes, [{ ...words, tag: id }]);
    await deliver(text);
    const opened = await click();
    assert.equal(opened, `/approvals?id=${id}`);
    assert.deepEqual(await shown(), []);
    const next = await context.newPage();
    await next.goto(`${there().dev.httpUrl}${opened}`);
    await next.getByTestId("approval-detail").getByText("get_file_info").first().waitFor();
    await there().send(`/runs/${runId}/cancel`, {});
    assert.deepEqual(service.faults, []);
  },
);

test(
  "a page in sight notifies once, and a click leads that page to the call without loading it anew",
  { skip },
  async (t) => {
    const { page, browser, deliver, handle, shown, click } = await notified(t);
    await page.locator('[data-testid="live"][data-status="live"]').waitFor();
    await page.evaluate("window.isLooking = false; window.isKept = true");
    const runId = await started("careful", "notes.md");
    const text = await messageOf(browser, 0);
    const { id } = JSON.parse(text) as { id: string };
    const before = await until(shown, ({ length }) => length > 0);
    await deliver(text);
    assert.deepEqual(await shown(), before);
    assert.deepEqual(
      before.map(({ tag }) => tag),
      [id],
    );
    await page.evaluate("history.replaceState(null, '', '/approvals')");
    assert.equal(await click(), null);
    await page.waitForURL(`**/approvals?id=${id}`);
    await page.getByTestId("approval-detail").getByText("get_file_info").first().waitFor();
    assert.equal(await page.evaluate("window.isKept"), true);
    await handle(text);
    assert.deepEqual(await shown(), [], "the worker leaves notifying to the page in sight");
    await there().send(`/runs/${runId}/cancel`, {});
  },
);

test("names in a message are text, and lead nowhere but to the inbox", { skip }, async (t) => {
  const { page, context, deliver, shown, click } = await notified(t);
  const title = `<img src=x onerror="top.pwned=1">`;
  const id = `"><script>top.pwned=1</script>&x=/../../auth/login#`;
  await page.close();
  await deliver(JSON.stringify({ id, title, body: "<b>bold</b>" }));
  const notes = await until(shown, ({ length }) => length > 0);
  assert.deepEqual(notes, [{ title, body: "<b>bold</b>", tag: id }]);
  const opened = await click();
  assert.equal(opened, `/approvals?id=${encodeURIComponent(id)}`);
  const next = await context.newPage();
  await next.goto(`${there().dev.httpUrl}${opened}`);
  await next.getByTestId("page").waitFor();
  assert.equal(await next.evaluate("typeof top.pwned"), "undefined");
});

test(
  "the worker is gone when the person turns it off, and when they sign out",
  { skip },
  async (t) => {
    const { page } = await notified(t);
    const isGone = () => workerOf(page).then((is) => !is);
    await page.reload();
    await page.getByText("also while no page is open").waitFor();
    await page.getByTestId("notify").click();
    await until(isGone);
    assert.equal(await page.evaluate(`sessionStorage.getItem("subscribed")`), null);
    await page.getByTestId("notify").click();
    await page.getByText("also while no page is open").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByTestId("sign-in").waitFor();
    await until(isGone);
    assert.equal(await page.evaluate(`sessionStorage.getItem("subscribed")`), null);
  },
);

test("a page that cannot reach the gateway leaves the worker as it is", { skip }, async (t) => {
  const { page } = await notified(t);
  const answer = { status: 503, contentType: "application/problem+json", body: "{}" };
  for (const path of ["**/auth/session", "**/api/v1/push"]) {
    await page.route(path, (route) => route.fulfill(answer));
    const failed = page.waitForResponse(path);
    await page.reload();
    assert.equal((await failed).status(), 503);
    await page.unroute(path);
    // The next load changes the worker after what this one has begun.
    await page.reload();
    await page.getByText("also while no page is open").waitFor();
    assert.equal(await page.evaluate(`sessionStorage.getItem("unsubscribed")`), null);
  }
});
