import type { ServerResponse } from "node:http";
import { openEventStream, type EventStream } from "../events/event-stream.ts";
import type { RunFollow, RunItem } from "./follow-run.ts";

/** Renders a run in the events of a protocol. */
export interface RunRenderer {
  /** True ends the stream, even though the run may continue. */
  item(item: RunItem): boolean | Promise<boolean>;
  /** The following was interrupted: the client must be able to distinguish this from the end of the run. */
  failed(error: unknown): void;
  /** The client closed the connection before the end. */
  left?(): void;
}

/** Answers with server-sent events: the items of a run until it ends, the teller does, or the client goes. `onEnd` is called once. */
export function streamRun(
  outgoing: ServerResponse,
  follow: RunFollow,
  { rendererOf, onEnd }: { rendererOf: (stream: EventStream) => RunRenderer; onEnd: () => void },
): Response {
  const stream = openEventStream(outgoing);
  const renderer = rendererOf(stream);
  let isOver = false;
  stream.onClose(() => {
    if (!isOver) renderer.left?.();
    follow.stop();
    onEnd();
  });
  const send = async (): Promise<void> => {
    try {
      for await (const item of follow.items) if (await renderer.item(item)) break;
    } catch (error) {
      renderer.failed(error);
    }
    isOver = true;
    stream.end();
  };
  void send();
  return stream.response;
}
