import { useEffect, useRef } from "preact/hooks";

const HEIGHT = 140;

/** Bars over time, in seconds since 1970. What it shows stands in words beside it; the drawing comes when it is needed. */
export function Chart(props: {
  times: readonly number[];
  values: readonly number[];
  label: string;
  /** Of US dollars in place of a count. */
  isMoney?: boolean;
}) {
  const { times, values, label, isMoney = false } = props;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    let stop = (): void => {};
    let isGone = false;
    const draw = async (): Promise<void> => {
      const { drawBars } = await import("./draw-bars.ts");
      if (!isGone) stop = drawBars(element, { times, values, height: HEIGHT, isMoney });
    };
    void draw();
    return () => {
      isGone = true;
      stop();
    };
  }, [times.join(), values.join()]);
  return <div ref={box} class="chart" role="img" aria-label={label} />;
}
