import type { ComponentChildren } from "preact";

export type Tone = "good" | "bad" | "busy" | "wait" | "quiet";

/** A word for each state with the tone of its dot; the shape of the dot differs, too, so that no colour is needed. */
const TONES: Readonly<Record<string, Tone>> = {
  running: "busy",
  connecting: "busy",
  pending: "wait",
  waiting: "wait",
  asked: "wait",
  ask: "wait",
  queued: "wait",
  changed: "wait",
  new: "wait",
  succeeded: "good",
  connected: "good",
  approved: "good",
  consumed: "good",
  allow: "good",
  allowed: "good",
  done: "good",
  ready: "good",
  active: "good",
  up: "good",
  ok: "good",
  failed: "bad",
  failing: "bad",
  error: "bad",
  dead: "bad",
  denied: "bad",
  deny: "bad",
  blocked: "bad",
  rejected: "bad",
  down: "bad",
};

const MARKS: Readonly<Record<Tone, string>> = {
  good: "✓",
  bad: "✕",
  busy: "◐",
  wait: "‖",
  quiet: "–",
};

/** A mark and a word. `data-status` has the word for programs. */
export function Status({ is, children }: { is: string; children?: ComponentChildren }) {
  const tone = toneOf(is);
  return (
    <span class={`status ${tone}`} data-status={is} data-testid="status">
      <span class="mark" aria-hidden="true">
        {MARKS[tone]}
      </span>
      {children ?? is}
    </span>
  );
}

export function toneOf(status: string): Tone {
  return TONES[status] ?? "quiet";
}
