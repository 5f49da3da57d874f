import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { ensureAudit, ensureStreams } from "@switchyard/bus/streams";
import { ADMIN_USER, OPERATOR_USER } from "@switchyard/contracts/user-names";
import { readSeed, seedFile } from "../nkey-seed.ts";
import type { StateDirectory } from "../locations.ts";
import type { StackReport } from "./stack-report.ts";

/** Creates or updates streams, consumers and buckets as the only users that may. */
export async function prepareStreams(options: {
  natsUrl: string;
  state: StateDirectory;
  report: StackReport;
}): Promise<void> {
  const { natsUrl, state, report } = options;
  const as = async <T>(user: string, file: string, use: (bus: Bus) => Promise<T>): Promise<T> => {
    const bus = await connectBus({ servers: natsUrl, user, nkeySeed: () => readSeed(file) });
    try {
      return await use(bus);
    } finally {
      await bus.close();
    }
  };
  const admin = seedFile(state.keys, ADMIN_USER);
  const { created, updated, left } = await as(ADMIN_USER, admin, ensureStreams);
  if (left.length > 0) {
    const audit = await as(OPERATOR_USER, state.operatorKey, ensureAudit);
    updated.push(...audit.updated);
  }
  if (created.length > 0) report.step(`created ${created.join(", ")}`);
  if (updated.length > 0) report.step(`updated ${updated.join(", ")}`);
}
