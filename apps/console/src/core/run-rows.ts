import type { Request } from "@switchyard/client/client";
import type { RunSummary } from "@switchyard/client/operations";
import { useEffect, useRef, useState } from "preact/hooks";
import { onLive } from "./live.ts";
import { useResource, type Resource } from "./resource.ts";
import { withChanges } from "./run-changes.ts";
import { client } from "./session.ts";

type Query = NonNullable<Request<"GET /runs">["query"]>;
interface RunList {
  readonly runs: readonly RunSummary[];
  readonly next: string | null;
}

/** Changed runs are requested this long after an event, and at most every few seconds while events keep coming. */
const PATCH_AFTER_MS = 700;
const PATCH_AT_MOST_EVERY_MS = 3_000;
/** More changes than this between two patches: the whole list is requested. */
const MOST_CHANGED = 100;

/** A list of runs that stays current: after events only the runs that they are about are requested, with the same filters. */
export function useRunRows(query: Query): Resource<RunList> {
  const key = JSON.stringify(query);
  const whole = useResource("GET /runs", { query });
  const [patched, setPatched] = useState<{ key: string; of: unknown; list: RunList } | null>(null);
  const list =
    patched !== null && patched.key === key && patched.of === whole.data
      ? patched.list
      : whole.data;
  const current = useRef<{ list: RunList | null; of: unknown }>({ list, of: whole.data });
  current.current = { list, of: whole.data };
  useEffect(() => {
    let changed = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let patchedAt = 0;
    const patch = async (): Promise<void> => {
      timer = undefined;
      patchedAt = Date.now();
      const ids = [...changed];
      changed = new Set();
      const before = current.current;
      if (before.list === null || ids.length > MOST_CHANGED) return whole.reload();
      try {
        const { cursor: _cursor, ...filters } = query;
        const found = await client.request("GET /runs", { query: { ...filters, ids, limit: 200 } });
        const now = current.current;
        if (now.of !== before.of || now.list === null) return whole.reload();
        const runs = withChanges(now.list.runs, { ids, found: found.runs, sort: query.sort });
        setPatched({ key, of: now.of, list: { runs, next: now.list.next } });
      } catch {
        whole.reload();
      }
    };
    const stop = onLive((topic, message) => {
      if (message === null) return whole.reload();
      const { runId } = (message.data ?? {}) as { readonly runId?: unknown };
      if (topic !== "run" || typeof runId !== "string") return;
      changed.add(runId);
      const dueMs = patchedAt + PATCH_AT_MOST_EVERY_MS - Date.now();
      timer ??= setTimeout(() => void patch(), Math.max(PATCH_AFTER_MS, dueMs));
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [key]);
  return { ...whole, data: list };
}
