import { signal } from "@preact/signals";
import type { Approval } from "@switchyard/client/operations";
import { navigate } from "./router.ts";
import { toast } from "./toasts.ts";

const KEY = "switchyard.notify";

/** True where the person wants browser notifications about waiting calls, also while another tab is in front. */
export const wantsNotes = signal(isGranted() && localStorage.getItem(KEY) === "on");

/** Browsers without notifications have none. */
export const canNotify = "Notification" in globalThis;

/** Switches it on, which requests the browser's permission, or off. */
export async function toggleNotes(): Promise<void> {
  const isOn = !wantsNotes.value && (await Notification.requestPermission()) === "granted";
  if (!wantsNotes.value && !isOn)
    toast({
      text: "The browser does not let this page notify you.",
      more: "Its settings for this address can change that.",
      tone: "bad",
    });
  wantsNotes.value = isOn;
  localStorage.setItem(KEY, isOn ? "on" : "off");
}

let known: ReadonlySet<string> | null = null;

/** Notifies of calls that began to wait since the last call; the first one only records them. */
export function notifyOf(waiting: readonly Pick<Approval, "id" | "tool" | "principal">[]): void {
  const before = known;
  known = new Set(waiting.map(({ id }) => id));
  if (before === null || !wantsNotes.value || document.hasFocus()) return;
  for (const { id, tool, principal } of waiting)
    if (!before.has(id)) notify(id, tool.name, principal.agent ?? principal.user);
}

function notify(id: string, tool: string, who: string): void {
  try {
    // No arguments: they would stay in the list of notifications, outside this page.
    const note = new Notification(`${who} waits for your approval`, { body: tool, tag: id });
    note.addEventListener("click", () => {
      focus();
      navigate(`/approvals?id=${id}`);
      note.close();
    });
  } catch {
    // Some browsers on phones have them for service workers alone.
  }
}

function isGranted(): boolean {
  return "Notification" in globalThis && Notification.permission === "granted";
}
