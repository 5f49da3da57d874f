import { defineService } from "@switchyard/service/define-service";
import { ChannelsEnv } from "./config.ts";
import { startChannels } from "./start-channels.ts";

export const channelsService = defineService({
  name: "channels",
  user: "channels",
  version: "0.1.0",
  env: ChannelsEnv,
  startsAfter: ["policy", "runner"],
  start: async (kit) => {
    const channels = await startChannels({ ...kit, version: "0.1.0" });
    kit.onStop("channels", () => channels.stop());
  },
});
