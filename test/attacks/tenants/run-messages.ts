import type { Bus } from "@switchyard/bus/bus";
import { connectionOf } from "@switchyard/bus/connection";
import { readEvents } from "@switchyard/bus/events";
import { headersOf } from "@switchyard/bus/message-headers";

/** Publishes a command unchanged and resolves to whether the stream accepted it, or had its message id. */
export async function send(
  bus: Bus,
  subject: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<"stored" | "duplicate"> {
  const { nc } = connectionOf(bus);
  const answer = await nc.request(subject, JSON.stringify(body), {
    headers: headersOf(headers),
    timeout: 10_000,
  });
  return answer.json<{ duplicate?: boolean }>().duplicate === true ? "duplicate" : "stored";
}

type RunEvent = { readonly name: string; readonly payload: Record<string, unknown> };

/** The first event of a run that fits. Rejects after 20 s, or when the run has ended without it. */
export async function eventOf(
  bus: Bus,
  run: string,
  fits: (event: RunEvent) => boolean,
): Promise<RunEvent["payload"]> {
  const signal = AbortSignal.timeout(20_000);
  const filters = [`yard.evt.run.${run.replace("~", ".")}.*`];
  const seen: string[] = [];
  for await (const { subject, payload } of readEvents(bus, {
    filters,
    from: "beginning",
    signal,
  })) {
    const event = {
      name: subject.split(".").at(-1) ?? "",
      payload: payload as RunEvent["payload"],
    }; // every run event is an object
    if (fits(event)) return event.payload;
    seen.push(`${event.name} ${JSON.stringify(payload).slice(0, 300)}`);
  }
  throw new Error(`${run} had not the event that was waited for, but: ${seen.join("\n")}`);
}
