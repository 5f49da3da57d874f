import type { ComponentChildren } from "preact";
import { toneOf, type Tone, type Word } from "./statuses.ts";

const MARKS: Readonly<Record<Tone, string>> = {
  good: "✓",
  bad: "✕",
  busy: "◐",
  wait: "‖",
  quiet: "–",
};

/** A mark and a word. `data-status` has the word for programs. */
export function Status({ is, children }: { is: Word; children?: ComponentChildren }) {
  const tone = toneOf(is);
  return (
    <span class={`status ${tone}`} data-testid="status" data-status={is}>
      <span class="mark" aria-hidden="true">
        {MARKS[tone]}
      </span>
      {children ?? is}
    </span>
  );
}
