import type { Decision, RunDetail } from "@switchyard/client/operations";
import type { Problem } from "@switchyard/client/problem-error";
import { useEffect, useState } from "preact/hooks";
import { client, problemOf } from "../core/session.ts";

/** A call of a run, and the decision about it, as recorded in its events. */
export interface RecordedCall {
  readonly run: RunDetail;
  readonly tool: string;
  /** JSON as it was recorded. */
  readonly argsText: string;
  /** True when values were taken out or cut, so that no condition on them can be judged. */
  readonly isArgsChanged: boolean;
  readonly decision: Decision;
}

type Read = { readonly call: RecordedCall } | { readonly problem: Problem };

/** Reads the call from the run's events. Null while they are read. */
export function useRecordedCall(runId: string, callId: string): Read | null {
  const [read, setRead] = useState<Read | null>(null);
  useEffect(() => {
    setRead(null);
    const stop = new AbortController();
    readCall(runId, callId, stop.signal).then(
      (call) => !stop.signal.aborted && setRead(call === null ? { problem: NOT_FOUND } : { call }),
      (error: unknown) => !stop.signal.aborted && setRead({ problem: problemOf(error) }),
    );
    return () => stop.abort();
  }, [runId, callId]);
  return read;
}

async function readCall(
  runId: string,
  callId: string,
  signal: AbortSignal,
): Promise<RecordedCall | null> {
  const { run } = await client.request("GET /runs/{runId}", { path: { runId } }, { signal });
  let asked: Pick<RecordedCall, "tool" | "argsText" | "isArgsChanged"> | null = null;
  for await (const { event, data } of client.followRun(runId, { signal, stopAtEnd: true })) {
    if (event === "tool-requested" && data.callId === callId) {
      const { tool, argsPreview: argsText, abridged = [] } = data;
      const isArgsChanged =
        argsText.includes("[redacted") || abridged.some(({ field }) => field === "argsPreview");
      asked = { tool, argsText, isArgsChanged };
    }
    const isDecided = event === "tool-denied" || event === "tool-completed";
    if (!isDecided || data.callId !== callId || asked === null) continue;
    return data.decision === null ? null : { run, ...asked, decision: data.decision };
  }
  return null;
}

const NOT_FOUND: Problem = {
  status: 404,
  code: "unknown_call",
  detail: "The run has no decision about this call.",
  requestId: "",
};
