import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

const KEY = "switchyard.detail-width";
const LEAST_PX = 280;
const MOST_PX = 900;
const FIRST_PX = 380;
const STEP_PX = 32;

/** A list and, on a wide screen beside it, the detail of its picked row. The divider moves by pointer and by arrow keys. */
export function SplitPanels(props: {
  children: ComponentChildren;
  detail: ComponentChildren | null;
}) {
  const { children, detail } = props;
  const box = useRef<HTMLDivElement>(null);
  const [widthPx, setWidth] = useState(storedWidth);
  const resize = (px: number): void => {
    const room = (box.current?.clientWidth ?? MOST_PX * 2) - LEAST_PX;
    const next = Math.round(Math.min(MOST_PX, Math.max(room, LEAST_PX), Math.max(LEAST_PX, px)));
    setWidth(next);
    localStorage.setItem(KEY, String(next));
  };
  const drag = (event: PointerEvent): void => {
    const handle = event.currentTarget as HTMLElement;
    if (!handle.hasPointerCapture(event.pointerId)) return;
    resize((box.current?.getBoundingClientRect().right ?? 0) - event.clientX);
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: STEP_PX, ArrowRight: -STEP_PX }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    resize(widthPx + step);
  };
  if (detail === null) return <div class="panels">{children}</div>;
  return (
    <div ref={box} class="panels has-detail" style={{ "--detail": `${widthPx}px` }}>
      <div class="panel">{children}</div>
      <div
        class="divider"
        role="separator"
        aria-label="Width of the detail"
        aria-orientation="vertical"
        aria-valuenow={widthPx}
        aria-valuemin={LEAST_PX}
        aria-valuemax={MOST_PX}
        tabIndex={0}
        data-testid="divider"
        onKeyDown={press}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
      />
      {detail}
    </div>
  );
}

function storedWidth(): number {
  const stored = Number(localStorage.getItem(KEY));
  return stored >= LEAST_PX && stored <= MOST_PX ? stored : FIRST_PX;
}
