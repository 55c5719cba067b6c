import { Code } from "@connectrpc/connect";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { fails, refused, replies, type WireCase, wireCase } from "./case.ts";

const { setAria2, setQbittorrent, getSetting } = SettingService.method;

/** A port of this machine without a listener (RFC 863). */
const NOWHERE = "127.0.0.1:9";

/** Refusals before a call to a download manager; the real ones have their own tests. */
export const downloaderCases: readonly WireCase[] = [
  wireCase(
    "aria2 needs an address and a secret, which may be empty",
    refused(setAria2, {}, /"uri" is missing \(and 1 more\)/, "uri", "secret"),
    refused(setAria2, { uri: `http://${NOWHERE}/` }, /"secret" is missing/, "secret"),
    fails(
      setAria2,
      { uri: `http://${NOWHERE}/`, secret: "" },
      { code: Code.Unavailable, message: /^aria2 at http:\/\/127\.0\.0\.1:9\/?: connect failed/ },
    ),
  ),
  wireCase(
    "an address of aria2 has one of four schemes",
    refused(setAria2, { uri: "ftp://x/", secret: "" }, /http:.*https:.*ws:.*wss:/, "uri"),
    refused(setAria2, { uri: "", secret: "" }, /./, "uri"),
    refused(setAria2, { uri: "http://", secret: "" }, /./, "uri"),
  ),
  wireCase(
    "qBittorrent needs an address",
    refused(setQbittorrent, {}, /"url" is missing/, "url"),
    refused(setQbittorrent, { url: "ws://x/", seedtime: 1 }, /http/, "url"),
    fails(
      setQbittorrent,
      { url: `http://admin:Secret-qbit@${NOWHERE}/`, seedtime: 0 },
      { code: Code.Unavailable, message: /^(?!.*Secret).*connect failed: connection refused/ },
    ),
  ),
  wireCase(
    "and after all these refusals the settings are unchanged",
    replies(getSetting, { key: "aria2_uri" }, { setting: { revision: "0" } }),
    replies(getSetting, { key: "qbittorrent_url" }, { setting: { revision: "0" } }),
  ),
];
