import { runService } from "@switchyard/service/run-service";
import { ChannelsEnv } from "./config.ts";
import { startChannels } from "./start-channels.ts";

await runService({
  name: "channels",
  user: "channels",
  version: "0.1.0",
  env: ChannelsEnv,
  start: async (kit) => {
    const channels = await startChannels({ ...kit, version: "0.1.0", env: process.env });
    kit.onStop("channels", () => channels.stop());
  },
});
