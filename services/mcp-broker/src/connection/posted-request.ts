import { AsyncLocalStorage } from "node:async_hooks";
import type { RequestId } from "@modelcontextprotocol/client";

/** A request on its way by POST, and how that was answered. */
export interface PostedRequest {
  readonly id: RequestId;
  readonly method: string;
  status: number;
  isStream: boolean;
}

/** The request whose POST is under way: the SDK's transport does not pass it to its `fetch`. */
export const posting = new AsyncLocalStorage<PostedRequest>();
