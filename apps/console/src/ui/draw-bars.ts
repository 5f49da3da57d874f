import uPlot from "uplot";
import { usdText } from "../core/format.ts";

/** Draws into the element; the returned function removes the drawing. */
export function drawBars(
  element: HTMLElement,
  given: {
    times: readonly number[];
    values: readonly number[];
    height: number;
    isMoney: boolean;
    isBad: boolean;
  },
): () => void {
  const { times, values, height, isMoney, isBad } = given;
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: style.color,
    grid: { stroke: resolved(element, color("--line")), width: 1 },
    ticks: { show: false },
    font: "11px sans-serif",
  };
  const fill = resolved(element, color(isBad ? "--bad" : "--accent"));
  const halfBar = ((times[1] ?? 0) - (times[0] ?? 0)) / 2;
  const isOfDays = (times.at(-1) ?? 0) - (times[0] ?? 0) > 2 * 86_400;
  const bars = uPlot.paths.bars?.({ size: [0.7, 24] });
  const plot = new uPlot(
    {
      width: element.clientWidth,
      height,
      // Half of the last time's text is behind the last bar.
      padding: [8, 28, 0, 0],
      cursor: { show: false },
      legend: { show: false },
      scales: {
        // The first and the last bar are drawn whole.
        x: { range: (_plot, min, max) => [min - halfBar, max + halfBar] },
        y: { range: (_plot, _min, max) => [0, isMoney ? max * 1.1 || 1 : Math.max(4, max)] },
      },
      axes: [
        {
          ...axis,
          size: 24,
          values: (_plot, splits) => splits.map(isOfDays ? dayText : clockText),
        },
        isMoney
          ? { ...axis, size: 56, values: (_plot, splits) => splits.map(usdText) }
          : {
              ...axis,
              size: 30,
              incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 20_000],
            },
      ],
      series: [{}, { fill, width: 0, points: { show: false }, ...(bars && { paths: bars }) }],
    },
    [[...times], [...values]],
    element,
  );
  const sizes = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
  sizes.observe(element);
  return () => {
    sizes.disconnect();
    plot.destroy();
  };
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

/** A canvas does not support `light-dark()`: the color is read in the current theme. */
function resolved(element: HTMLElement, color: string): string {
  const probe = document.createElement("i");
  probe.style.color = color;
  element.append(probe);
  const { color: found } = getComputedStyle(probe);
  probe.remove();
  return found;
}
