import assert from "node:assert/strict";
import { test } from "node:test";
import { isAtPushService } from "./notify-browsers.ts";

test("the addresses that browsers get from their makers are at push services", () => {
  for (const address of [
    "https://fcm.googleapis.com/fcm/send/abc:def",
    "https://updates.push.services.mozilla.com/wpush/v2/abc",
    "https://web.push.apple.com/QAbc",
    "https://wns2-am3p.notify.windows.com/w/?token=abc",
  ])
    assert.ok(isAtPushService(new URL(address)), address);
});

test("no other address is, however alike it looks", () => {
  for (const address of [
    "http://fcm.googleapis.com/fcm/send/abc",
    "https://fcm.googleapis.com:8443/fcm/send/abc",
    "https://user@fcm.googleapis.com/fcm/send/abc",
    "https://fcm.googleapis.com.evil.test/",
    "https://evil.test/fcm.googleapis.com",
    "https://evil.test#https://fcm.googleapis.com",
    "https://xfcm.googleapis.com/",
    "https://push.apple.com/",
    "https://evilpush.apple.com/",
    "https://web.push.apple.com.evil.test/",
    "https://web.push.apple.com:444/",
    "https://evil.test\\.push.apple.com/",
    "https://169.254.169.254/",
    "https://localhost/",
    "file:///etc/passwd",
  ])
    assert.equal(isAtPushService(new URL(address)), false, address);
});
