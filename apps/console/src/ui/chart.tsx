import { useEffect, useRef } from "preact/hooks";

const HEIGHT = 140;

/** Bars over time, in seconds since 1970. Its content is also in words beside it; the drawing code is loaded on demand. */
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
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    let stop = (): void => {};
    let isGone = false;
    const draw = async (): Promise<void> => {
      const { drawBars } = await import("./draw-bars.ts");
      if (!isGone) stop = drawBars(element, { times, values, height: HEIGHT, isMoney, isBad });
    };
    void draw();
    return () => {
      isGone = true;
      stop();
    };
  }, [times.join(), values.join()]);
  return <div ref={box} class="chart" role="img" aria-label={label} />;
}
