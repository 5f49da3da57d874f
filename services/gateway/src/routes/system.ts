import type { Bus } from "@switchyard/bus/bus";
import { discoverServices } from "@switchyard/bus/discovery";
import { queueLags } from "@switchyard/bus/queue-lag";
import { z } from "zod";

const Endpoint = z.object({
  name: z.string(),
  subject: z.string(),
  requests: z.number(),
  errors: z.number(),
  /** The mean time up to the reply. */
  averageMs: z.number(),
});

/** The answer of `GET /system`: the services that `yard services` shows, and the lengths of the queues. */
export const System = z.object({
  services: z.array(
    z.object({
      name: z.string(),
      id: z.string(),
      version: z.string(),
      description: z.string(),
      endpoints: z.array(Endpoint),
    }),
  ),
  streams: z.array(
    z.object({
      name: z.string(),
      messages: z.int(),
      bytes: z.int(),
      /** -1 means no limit. */
      maxBytes: z.int(),
      queues: z.array(
        z.object({
          name: z.string(),
          /** Messages that no consumer has received yet. */
          waiting: z.int(),
          /** Messages that are delivered and not acknowledged. */
          inWork: z.int(),
          redelivered: z.int(),
        }),
      ),
    }),
  ),
  /** Streams of events that this replica of the gateway has open. */
  readers: z.int(),
});

export async function readSystem(bus: Bus, readers: number): Promise<z.input<typeof System>> {
  const [services, streams] = await Promise.all([discoverServices(bus), queueLags(bus)]);
  return System.parse({ services, streams, readers });
}
