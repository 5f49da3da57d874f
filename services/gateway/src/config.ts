import { envInteger, natsEnv, processEnv, redisEnv } from "@switchyard/service/env";
import { z } from "zod";

export const Config = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  /** The address to listen at; another one than loopback needs YARD_HTTP_HOSTS. */
  YARD_HTTP_HOST: z.string().default("127.0.0.1"),
  /** 0 is any free port; the line "http ready" has the address. */
  YARD_HTTP_PORT: envInteger(0, 65_535).default(0),
  /** Names under which the gateway is reached, with commas, such as switchyard.example.com. */
  YARD_HTTP_HOSTS: z
    .string()
    .default("")
    .transform((list) =>
      list
        .split(",")
        .map((name) => name.trim().toLowerCase())
        .filter((name) => name !== ""),
    ),
  /** Requests of one credential in a minute, over all replicas. */
  YARD_HTTP_REQUESTS_PER_MINUTE: envInteger(1, 1_000_000).default(1_200),
});
