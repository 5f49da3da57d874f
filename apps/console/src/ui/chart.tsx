import { useState } from "preact/hooks";
import { numberText, usdText } from "../core/format.ts";

const GRID_LINES = 4;
const LABELS = 6;
/** From this range on, times are labelled by their day. */
const DAYS_S = 2 * 86_400;

/** Bars over time, in seconds since 1970. The pointer or the arrow keys choose one, whose time and value are shown. */
export function Chart(props: {
  times: readonly number[];
  values: readonly number[];
  label: string;
  /** The unit is US dollars instead of a count. */
  isMoney?: boolean;
  /** The bars count failures. */
  isBad?: boolean;
}) {
  const { times, values, label, isMoney = false, isBad = false } = props;
  const [chosen, choose] = useState<number | null>(null);
  const valueText = isMoney ? usdText : numberText;
  const step = stepOf(Math.max(...values, 0), isMoney);
  const top = step * GRID_LINES;
  const last = times.length - 1;
  const isOfDays = (times[last] ?? 0) - (times[0] ?? 0) > DAYS_S;
  const every = Math.max(1, Math.ceil(times.length / LABELS));
  const at = Math.min(chosen ?? last, last);
  const text = `${timeText(times[at] ?? 0, isOfDays, true)}: ${valueText(values[at] ?? 0)}`;
  const width = 100 / Math.max(1, times.length);
  const percent = (value: number): string => `${(100 * value) / top}%`;
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(last, to)));
  };
  const onPointerMove = (event: PointerEvent & { currentTarget: Element }): void => {
    const box = event.currentTarget.getBoundingClientRect();
    choose(
      Math.max(0, Math.min(last, Math.floor((event.clientX - box.x) / (box.width / (last + 1))))),
    );
  };
  return (
    <div
      class={`chart ${isBad ? "bad" : ""}`}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={at}
      aria-valuetext={text}
      onKeyDown={onKeyDown}
      onFocus={() => choose((old) => old ?? last)}
      onBlur={() => choose(null)}
    >
      <svg onPointerMove={onPointerMove} onPointerLeave={() => choose(null)} aria-hidden="true">
        {Array.from({ length: GRID_LINES + 1 }, (_, line) => (
          <g key={line}>
            <line x2="100%" y1={percent(step * line)} y2={percent(step * line)} />
            <text x="-8" y={percent(top - step * line)} dy="4" class="value">
              {valueText(step * line)}
            </text>
          </g>
        ))}
        {values.map((value, index) => (
          <rect
            key={times[index]}
            class={index === chosen ? "chosen" : ""}
            x={`${width * (index + 0.15)}%`}
            width={`${width * 0.7}%`}
            y={percent(top - value)}
            height={percent(value)}
          />
        ))}
        {times.map(
          (time, index) =>
            index % every === every >> 1 && (
              <text key={time} x={`${width * (index + 0.5)}%`} y="100%" dy="16" class="time">
                {timeText(time, isOfDays)}
              </text>
            ),
        )}
        <rect class="all" width="100%" height="100%" />
      </svg>
      {chosen !== null && <output>{text}</output>}
    </div>
  );
}

/** The distance of two grid lines: 1, 2 or 5 times a power of ten. */
function stepOf(max: number, isMoney: boolean): number {
  const least = Math.max(max / GRID_LINES, isMoney ? 1e-6 : 1);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5].map((n) => n * power).find((n) => n >= least) ?? 10 * power;
}

/** Formats a second since 1970 as the rest of the console does; in full, with the day and the time. */
function timeText(second: number, isOfDays: boolean, isFull = false): string {
  return new Date(second * 1_000).toLocaleString("en-GB", {
    ...((isOfDays || isFull) && { month: "short", day: "numeric" }),
    ...((!isOfDays || isFull) && { hour: "2-digit", minute: "2-digit" }),
  });
}
