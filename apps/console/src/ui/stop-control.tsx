import { signal } from "@preact/signals";
import { may } from "../core/session.ts";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { StopForm } from "./stop-form.tsx";

const isOpen = signal(false);

/** Opens the dialog that stops calls, from the bar and from the palette. */
export function openStop(): void {
  isOpen.value = true;
}

export function mayStop(): boolean {
  return may("POST /policy/stops");
}

/** A button in the bar that opens a dialog for stopping calls; the dialog proposes to stop all of them. */
export function StopControl() {
  if (!mayStop()) return null;
  const close = (): void => void (isOpen.value = false);
  return (
    <>
      <button type="button" class="button danger" onClick={openStop} data-testid="stop-calls">
        <Icon name="stop" /> <span class="word">Stop…</span>
      </button>
      {isOpen.value && (
        <Dialog title="Stop calls" onClose={close} testId="stop-dialog">
          <p>Every call that it is about is denied at once, whatever the rules allow.</p>
          <StopForm initial="all" isInDialog onStopped={close} />
        </Dialog>
      )}
    </>
  );
}
