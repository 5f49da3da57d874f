import assert from "node:assert/strict";
import { createECDH, randomBytes } from "node:crypto";
import { test } from "node:test";
import { decryptMessage } from "../../test/push-browser.ts";
import { encryptMessage } from "./encrypt-message.ts";

const bytes = (text: string): Buffer => Buffer.from(text, "base64url");

/** https://www.rfc-editor.org/rfc/rfc8291#appendix-A */
const EXAMPLE = {
  text: "V2hlbiBJIGdyb3cgdXAsIEkgd2FudCB0byBiZSBhIHdhdGVybWVsb24",
  privateKey: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
  p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  salt: "DGv6ra1nlYgDCS1FRnbzlw",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
  message:
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
};

test("the example of RFC 8291 becomes its message, byte for byte", () => {
  const { text, p256dh, auth, privateKey, salt, message } = EXAMPLE;
  const browser = { p256dh: bytes(p256dh), auth: bytes(auth) };
  const random = { privateKey: bytes(privateKey), salt: bytes(salt) };
  const made = encryptMessage(bytes(text), browser, { random });
  assert.equal(made.toString("base64url"), message);
});

test("a browser reads what was encrypted for it, whose length does not show in the message", () => {
  const ecdh = createECDH("prime256v1");
  const browser = { p256dh: ecdh.generateKeys(), auth: randomBytes(16) };
  const sizes = ["", "short", "x".repeat(200)].map((text) => {
    const made = encryptMessage(Buffer.from(text), browser, { paddedBytes: 256 });
    assert.equal(decryptMessage(made, { ecdh, auth: browser.auth }).toString(), text);
    return made.length;
  });
  assert.equal(new Set(sizes).size, 1);
});

test("what is not a point of the curve is refused", () => {
  const browser = { p256dh: Buffer.alloc(65, 4), auth: randomBytes(16) };
  assert.throws(() => encryptMessage(Buffer.from("x"), browser), /public key is not valid/i);
});
