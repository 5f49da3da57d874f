import type { Bus } from "@switchyard/bus/bus";
import { connectionOf } from "@switchyard/bus/connection";

/** No user may publish it; its refusal comes after all that was published before. */
const LAST = "nobody.may.publish.this";

/** Publishes to each subject and returns those that the server let through. */
export async function letThrough(bus: Bus, subjects: readonly string[]): Promise<string[]> {
  const { nc } = connectionOf(bus);
  const refused = new Set<string>();
  const statuses = nc.status();
  const reading = (async () => {
    for await (const status of statuses) {
      if (status.type !== "error") continue;
      const subject = /Violation for Publish to "(.+?)"/.exec(String(status.error))?.[1];
      if (subject !== undefined) refused.add(subject);
      if (subject === LAST) return;
    }
  })();
  for (const subject of [...subjects, LAST]) nc.publish(subject, "{}");
  await reading;
  return subjects.filter((subject) => !refused.has(subject));
}

/** Subscribes and returns how the subscription ended at once; `let through` when the server accepted it. */
export async function subscriptionEnding(
  bus: Bus,
  subject: string,
  queue?: string,
): Promise<string> {
  const { nc } = connectionOf(bus);
  const subscription = nc.subscribe(subject, queue === undefined ? {} : { queue });
  const passed = nc.flush().then(() => "let through");
  const ending = await Promise.race([
    subscription.closed.then((error) => String(error)),
    // The refusal comes before the answer to the flush, and is handled in the same turn.
    passed.then(async (text) => {
      await nc.flush();
      return text;
    }),
  ]);
  subscription.unsubscribe();
  return ending;
}
