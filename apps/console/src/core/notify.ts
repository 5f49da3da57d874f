import { signal } from "@preact/signals";
import { toast } from "./toasts.ts";

const KEY = "switchyard.notify";

/** True where the person wants browser notifications of new things in the inbox, also while another tab is in front. */
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

function isGranted(): boolean {
  return "Notification" in globalThis && Notification.permission === "granted";
}
