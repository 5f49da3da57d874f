import { effect, signal } from "@preact/signals";
import { wantsNotes } from "./notify.ts";
import { navigate } from "./router.ts";
import { client, may, session } from "./session.ts";

/** The worker that shows notes while no page is in sight; null where web push is off or not possible. */
export const pushWorker = signal<ServiceWorkerRegistration | null>(null);

/** At the root, so that it sees every page of the console. */
const WORKER = "/push-worker.js";

/** TypeScript's DOM has no trusted types. Browsers without them take the address as a text. */
interface WithTrustedTypes {
  readonly trustedTypes?: {
    createPolicy(
      name: string,
      rules: { createScriptURL: () => string },
    ): { createScriptURL(text: string): string };
  };
}

/**
 * Web push follows the person's wish and the sign-in: it is on while a signed-in person wants to be notified, and each load of the page
 * renews it for the current session. Where it is not possible, notes come from open pages alone.
 */
export function startPush(): void {
  if (!("serviceWorker" in navigator) || !("PushManager" in globalThis)) return;
  navigator.serviceWorker.addEventListener("message", ({ data }) => {
    const { opened }: { opened?: unknown } = Object(data);
    if (typeof opened === "string") navigate(`/approvals?id=${encodeURIComponent(opened)}`);
  });
  let last: Promise<void> = Promise.resolve();
  effect(() => {
    const state = session.value;
    const { phase } = state;
    const isWanted = phase === "signed-in" && wantsNotes.value;
    // A gateway that does not answer does not end the session.
    const isFailed = phase === "signed-out" && (state.problem?.status ?? 401) !== 401;
    if (phase === "checking" || isFailed) return;
    const change = isWanted ? turnOn : () => turnOff(phase === "signed-in");
    // One change after the other: the browser has one worker. What was there before a failure stays, and the next load tries again.
    last = last.then(change).catch(() => {
      pushWorker.value = null;
    });
  });
}

async function turnOn(): Promise<void> {
  if (!may("PUT /push")) return;
  const { publicKey } = await client.request("GET /push", {});
  if (publicKey === null) return turnOff(false);
  await navigator.serviceWorker.register(trustedScript(), { updateViaCache: "none" });
  const worker = await navigator.serviceWorker.ready;
  const known = await worker.pushManager.getSubscription();
  const isCurrent = known !== null && keyText(known.options.applicationServerKey) === publicKey;
  if (!isCurrent) await known?.unsubscribe();
  const subscription = isCurrent
    ? known
    : await worker.pushManager.subscribe({
        userVisibleOnly: true,
        applicationServerKey: publicKey,
      });
  const { endpoint = "", keys: { p256dh = "", auth = "" } = {} } = subscription.toJSON();
  await client.request("PUT /push", { body: { endpoint, keys: { p256dh, auth }, publicKey } });
  pushWorker.value = worker;
}

/** Removes the worker and its subscription. At a sign-out the gateway has removed its part with the session. */
async function turnOff(isSignedIn: boolean): Promise<void> {
  pushWorker.value = null;
  const worker = await navigator.serviceWorker.getRegistration("/");
  if (worker === undefined) return;
  const subscription = await worker.pushManager.getSubscription();
  await subscription?.unsubscribe();
  await worker.unregister();
  if (isSignedIn && subscription !== null) await client.request("DELETE /push", {});
}

let script: string | null = null;

/** The only address of a script that the page's policy lets through. A policy of a name is made once. */
function trustedScript(): string {
  const { trustedTypes } = globalThis as WithTrustedTypes; // The interface states why.
  script ??=
    trustedTypes
      ?.createPolicy("push-worker", { createScriptURL: () => WORKER })
      .createScriptURL("") ?? WORKER;
  return script;
}

/** The form in which the gateway gives its key. */
function keyText(key: ArrayBuffer | null): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(key ?? new ArrayBuffer(0))));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
