import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiMenu } from "./api-menu.tsx";

interface PageProps {
  readonly title: string;
  /** Describes the page in a line. */
  readonly about: ComponentChildren;
  /** The equivalent at a terminal and over NATS. */
  readonly cli?: string;
  readonly nats?: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A view: its heading gets the focus when the person navigates to it. */
export function Page({ title, about, cli, nats, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.querySelector("main")?.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => setTitle(title), [title]);
  return (
    <div class="page" data-testid="page">
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          <p class="about">{about}</p>
        </div>
        <div class="actions">
          {actions}
          {(cli !== undefined || nats !== undefined) && <ApiMenu cli={cli} nats={nats} />}
        </div>
      </header>
      {children}
    </div>
  );
}

let waiting = 0;
let shown = "";

/** The tab's title, with the number of things that need the person. */
function setTitle(title: string): void {
  shown = title;
  document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${shown} · Switchyard`;
}

export function setWaiting(count: number): void {
  waiting = count;
  setTitle(shown);
}
