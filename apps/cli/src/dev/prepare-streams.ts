import { connectBus } from "@switchyard/bus/connect";
import { ensureStreams } from "@switchyard/bus/streams";
import { adminUser } from "@switchyard/contracts/topology";
import { readSeed, seedFile } from "../key-directory.ts";
import type { StackReport } from "./stack-report.ts";

/** Creates or updates streams, consumers and buckets as the only user that may. `keys` is the directory of the seeds. */
export async function prepareStreams(options: {
  natsUrl: string;
  keys: string;
  report: StackReport;
}): Promise<void> {
  const { natsUrl, keys, report } = options;
  const { name } = adminUser;
  const nkeySeed = (): Promise<string> => readSeed(seedFile(keys, name));
  const bus = await connectBus({ servers: natsUrl, user: name, nkeySeed });
  try {
    const { created, updated } = await ensureStreams(bus);
    if (created.length > 0) report.step(`created ${created.join(", ")}`);
    if (updated.length > 0) report.step(`updated ${updated.join(", ")}`);
  } finally {
    await bus.close();
  }
}
