import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { Admission, ROOT } from "../../src/access/grant.ts";
import { auditRefusals } from "../../src/access/refusal.ts";

const desc = SettingService.method.saveSettings;
const call = { transport: "rest", requestId: "request", peer: "192.0.2.1" } as const;
const admitted = {
  ...call,
  principal: new Admission({ name: "a", tokenId: "", grant: ROOT }, "", 0),
};
const without = { ...call, header: () => undefined };
const wrong = { ...call, header: (name: string) => (name === "authorization" ? "x" : undefined) };

/** Audit entry of an ended call. */
function noted(report: Record<string, unknown>): unknown {
  const note = vi.fn();
  auditRefusals({ note }).ended({ desc, call: without, ...report } as never);
  return note.mock.calls[0]?.[0];
}
const failed = (code: Code): ConnectError => new ConnectError("refused", code);

test.each([
  [Code.Unauthenticated, without, "no token"],
  [Code.Unauthenticated, wrong, "a wrong token"],
  [Code.Unauthenticated, call, "no token"],
  [Code.ResourceExhausted, wrong, "too many wrong tokens"],
  [Code.PermissionDenied, admitted, "the token does not have the right"],
])("a refused call is in the audit: %s %o", (code, of, reason) => {
  expect(noted({ error: failed(code), call: of })).toMatchObject({ reason });
});

test("its entry has the caller and the outcome", () => {
  const report = { error: failed(Code.PermissionDenied), call: { ...admitted, actor: "ann" } };
  expect(noted(report)).toEqual({
    origin: {
      actor: "ann",
      transport: "rest",
      method: "SaveSettings",
      requestId: "request",
      peer: "192.0.2.1",
    },
    outcome: "PERMISSION_DENIED",
    reason: "the token does not have the right",
  });
  expect(noted({ error: failed(Code.Unauthenticated) })).toMatchObject({ origin: { actor: "" } });
});

test.each<[string, Record<string, unknown>]>([
  ["that succeeds", {}],
  ["that fails for another reason", { error: failed(Code.NotFound), call: wrong }],
  ["whose right ends while it runs", { error: failed(Code.Unauthenticated), call: admitted }],
  [
    "that was admitted and exceeds a limit",
    { error: failed(Code.ResourceExhausted), call: admitted },
  ],
  [
    "that needs no token",
    { error: failed(Code.ResourceExhausted), desc: PublicService.method.ping },
  ],
])("a call is not in the audit: one %s", (_, report) => {
  expect(noted(report)).toBeUndefined();
});
