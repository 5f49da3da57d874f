import { z } from "zod";

const Host = {
  host: z.string().min(1),
  port: z.int().min(1).max(65_535),
  user: z.string().min(1),
  password: z.string().min(1),
  /** `none` is allowed only for a server on this machine. */
  tls: z.enum(["implicit", "starttls", "none"]).default("implicit"),
};

const isSafe = ({ tls, host }: { tls: string; host: string }) =>
  tls !== "none" || ["127.0.0.1", "::1", "localhost"].includes(host);
const unsafe = {
  message: "tls: none is for servers on this machine: the password would be readable on the way",
};

export const EmailConfig = z.strictObject({
  /** The account's own address. */
  address: z.email(),
  /** The display name beside the address. */
  name: z.string().max(100).optional(),
  smtp: z.strictObject(Host).refine(isSafe, unsafe),
  /** Left out: the account only sends. */
  imap: z
    .strictObject({ ...Host, mailbox: z.string().min(1).default("INBOX") })
    .refine(isSafe, unsafe)
    .optional(),
  /**
   * The name by which the receiving mail server signs its `Authentication-Results`. With it, mail is accepted only when that
   * server has authenticated the sender's domain (DMARC); without it anyone can write in another's name.
   */
  authservId: z.string().min(1).optional(),
});
export type EmailConfig = z.infer<typeof EmailConfig>;
