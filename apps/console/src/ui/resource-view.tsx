import type { Problem } from "@switchyard/client/problem-error";
import type { ComponentChildren } from "preact";
import type { Resource } from "../core/resource.ts";
import { saidCode } from "./statuses.ts";

interface Props<T> {
  readonly of: Resource<T>;
  /** Shown for an empty result, with the next step; null for any other result. */
  readonly empty?: (data: T) => ComponentChildren | null;
  readonly children: (data: T) => ComponentChildren;
}

/** A resource in its four states: loading, refused or failed, empty, loaded. */
export function ResourceView<T>({ of, empty, children }: Props<T>) {
  const { data, problem, isLoading, reload } = of;
  if (data !== null) {
    const nothing = empty?.(data) ?? null;
    return (
      <>
        {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
        {nothing === null ? children(data) : <Empty>{nothing}</Empty>}
      </>
    );
  }
  if (problem !== null) return <ProblemNote problem={problem} onRetry={reload} />;
  return isLoading ? <Loading /> : null;
}

export function Loading() {
  return (
    <div class="loading" role="status" data-testid="loading">
      <span class="visually-hidden">Loading…</span>
      <i />
      <i />
      <i />
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return (
    <div class="empty" data-testid="empty">
      {children}
    </div>
  );
}

/** A refusal or a failure, with what to do about it. */
export function ProblemNote({ problem, onRetry }: { problem: Problem; onRetry?: () => void }) {
  const { status, code, detail, next, requestId } = problem;
  const isForbidden = status === 403;
  return (
    <div
      class={`note ${isForbidden ? "wait" : "bad"}`}
      role="alert"
      data-testid={isForbidden ? "forbidden" : "problem"}
      data-status={saidCode(isForbidden ? "forbidden" : "problem", code)}
    >
      <strong>{isForbidden ? "Not permitted" : (TITLES[status] ?? "That did not work")}</strong>
      <p>{detail}</p>
      {isForbidden && <p>A person with the role admin can give you more with “yard keys api”.</p>}
      {next !== undefined && <p>{next}</p>}
      {requestId !== "" && (
        <p class="quiet">
          {code} · request <code>{requestId}</code>
        </p>
      )}
      {onRetry !== undefined && !isForbidden && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

const TITLES: Readonly<Record<number, string>> = {
  0: "Switchyard cannot be reached",
  404: "Not found",
  429: "Too many requests",
  503: "A service is away",
};
