import type { Principal } from "@switchyard/contracts/policy/policy";
import type { RunSender } from "@switchyard/contracts/agent-runner/run-sender";
import { claimsIn } from "./token-claims.ts";

/**
 * Returns the rights of the calling run, or of the claimed session. A user who claims one could send the message without the claim: a run that answers it
 * is an ordinary one, with the limits of that session. The policy has verified the token for this call; here only its tool layers are read. A token without
 * readable claims has no tools.
 */
export function senderOf({ runId, approval, context = {} }: Principal, token: string): RunSender {
  const { channel, group, chat, owner, replayed, dictatedBy, depth } = context;
  return {
    tools: claimsIn(token).tools ?? [[]],
    ...(approval !== undefined && { approval }),
    origin: {
      ...(channel !== undefined && { channel }),
      ...(group !== undefined && { group }),
      ...(chat !== undefined && { chat }),
      ...(owner !== undefined && { owner }),
      ...(runId !== null && replayed !== undefined && { replayed }),
      ...(runId !== null && dictatedBy !== undefined && { dictatedBy }),
      ...(depth !== undefined && { depth }),
    },
  };
}
