import type { Check } from "../check.ts";
import { eventually } from "../eventually.ts";
import { checkLoad } from "../load/load.ts";
import { ready, upgradeLine } from "./install.ts";
import { runYard } from "./run-yard.ts";

export const archive: Check = {
  name: "archive",
  title: "journals of ended runs move from Redis to NATS, and such a run is shown as before",
  async run({ lab, kubectl, load }) {
    const stored = async (): Promise<number> => {
      const server = ["exec", "nats-0", "--", "wget", "-q", "-O", "-"];
      const reported = await kubectl.run([...server, "http://127.0.0.1:8222/jsz?streams=1"]);
      // One object is one or more messages.
      const text = /"name":\s*"OBJ_YARD_ARCHIVE"[^]*?"messages":\s*(\d+)/.exec(reported)?.[1];
      return Number(text);
    };
    const before = await stored();
    await lab.shell(upgradeLine("--set-string agentRunner.env.YARD_RUN_ARCHIVE_MS=20000"), 600_000);
    await ready(kubectl);
    const plan = { name: "kept", runs: 10, takesMs: 0, perSecond: 10, seconds: 120 };
    const counts = checkLoad(await (await load.start(plan)).result());
    const show = "runs show team-a~kept-3 --json";
    const live = await runYard(lab, show);
    const after = await eventually(
      "the archive grows",
      async () => {
        const count = await stored();
        return count > before ? count : null;
      },
      { timeoutMs: 180_000 },
    );
    const archived = await runYard(lab, show);
    await lab.shell(upgradeLine(), 600_000);
    if (archived !== live) throw new Error(`was:\n${live}\nis:\n${archived}`);
    return `${counts}; ${after - before} messages in the archive; a run is shown as before`;
  },
};
