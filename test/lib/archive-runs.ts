import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "@switchyard/local-servers/until";
import { redisWords } from "./redis-words.ts";
import type { DevInstance } from "./yard-dev.ts";

/** Has the journals of ended runs moved into the archive now, as if their hour were over, and waits until they are there. */
export async function archiveRuns(
  { redisUrl, stateDir }: Pick<DevInstance, "redisUrl" | "stateDir">,
  runIds: readonly string[],
): Promise<void> {
  const password = (await readFile(join(stateDir, "keys", "admin.redis"), "utf8")).trim();
  const send = (commands: readonly string[][]): Promise<string> =>
    redisWords(redisUrl, { user: "admin", password }, commands);
  await send([["ZADD", "yard:runs:ended", ...runIds.flatMap((runId) => ["1", runId])]]);
  const journals = runIds.map((runId) => `yard:run:{${runId}}:journal`);
  const states = runIds.map((runId) => `yard:run:{${runId}}:state`);
  await until(
    () => send([["EXISTS", ...journals], ...states.map((key) => ["HEXISTS", key, "archive"])]),
    (answers) => answers === `:0\r\n${":1\r\n".repeat(runIds.length)}`,
  );
}
