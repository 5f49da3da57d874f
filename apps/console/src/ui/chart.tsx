import { marksTo } from "../core/chart-marks.ts";
import { usdText } from "../core/format.ts";

/** Less than this many times fit below each other's bars on a phone. */
const TIMES = 6;
const DAY_SECONDS = 86_400;

/** Bars over time, in seconds since 1970. Its content is also in words beside it. */
export function Chart({
  times,
  values,
  label,
  isMoney = false,
  isBad = false,
}: {
  times: readonly number[];
  values: readonly number[];
  label: string;
  /** The unit is US dollars instead of a count. */
  isMoney?: boolean;
  /** The bars count failures. */
  isBad?: boolean;
}) {
  const most = Math.max(0, ...values);
  const top = isMoney ? most * 1.1 || 1 : Math.max(4, most);
  const text = (value: number): string => (isMoney ? usdText(value) : String(value));
  const isOfDays = (times.at(-1) ?? 0) - (times[0] ?? 0) > 2 * DAY_SECONDS;
  const timeText = isOfDays ? dayText : clockText;
  const each = Math.ceil(times.length / TIMES);
  return (
    <div class={`chart ${isMoney ? "money" : ""}`} role="img" aria-label={label}>
      <div class="chart-plot">
        {marksTo(top, { isWhole: !isMoney }).map((mark) => (
          <i key={mark} class="chart-mark" style={{ bottom: percent(mark / top) }}>
            <small>{text(mark)}</small>
          </i>
        ))}
        {values.map((value, index) => (
          <i
            key={times[index]}
            class={isBad ? "chart-bar bad" : "chart-bar"}
            style={{ height: percent(value / top) }}
            title={`${timeText(times[index] ?? 0)}: ${text(value)}`}
          />
        ))}
      </div>
      <div class="chart-times">
        {times.map((time, index) =>
          index % each === 0 ? (
            <small key={time} style={{ left: percent((index + 0.5) / times.length) }}>
              {timeText(time)}
            </small>
          ) : null,
        )}
      </div>
    </div>
  );
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}

/** Formats a second since 1970 as the rest of the console does. */
function clockText(second: number): string {
  return new Date(second * 1_000).toLocaleTimeString("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
  });
}

function dayText(second: number): string {
  return new Date(second * 1_000).toLocaleDateString("en-GB", { month: "short", day: "numeric" });
}
