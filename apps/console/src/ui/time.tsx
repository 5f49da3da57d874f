import { nowMs } from "../core/clock.ts";
import { absoluteText, relativeText } from "../core/format.ts";

/** Shows the time since `at`, with the exact time on hover. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={absoluteText(at)}>
      {relativeText(at, nowMs.value)}
    </time>
  );
}
