import type { DefaultTheme, LocaleSpecificConfig } from "vitepress";

export type Language = "en" | "zh-CN";

interface Item {
  readonly text: string;
  readonly link: string;
}

/** What the content says of generated pages and of translations. */
interface Sidebar {
  readonly drivers: readonly Item[];
  readonly settings: readonly Item[];
  readonly decisions: readonly Item[];
  /** Names of the pages that this language has, such as `operating`. */
  readonly pages: readonly string[];
}

export type Sidebars = Readonly<Record<Language, Sidebar>>;

type Words = Readonly<Record<string, string>>;

/** Sections of the sidebar, and the pages of each in their order. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  start: ["start", "beside-your-server", "console", "cli"],
  operators: [
    "operating",
    "containers",
    "configuration",
    "access",
    "backup",
    "upgrading",
    "postgres",
    "audit",
    "metrics",
    "reliability",
    "security",
    "compatibility",
    "changelog",
  ],
  data: ["settings", "drivers", "mounts", "incidents"],
  developers: ["calls", "errors", "languages", "rest-contract"],
};

const INTERNALS = ["architecture", "contributing", "attack", "dependencies", "performance"];

const WORDS: Readonly<Record<Language, Words>> = {
  en: {
    "section start": "Start",
    "section operators": "Operators",
    "section data": "Settings, drivers, mounts",
    "section developers": "Developers",
    "section internals": "Inside Mooring",
    "section decisions": "Decisions",
    guide: "Operators",
    reference: "Reference",
    api: "REST reference",
    english: "",
    start: "Getting started",
    "beside-your-server": "Beside your server",
    console: "Console",
    cli: "Command line",
    operating: "Operating",
    containers: "Docker and NAS",
    configuration: "Configuration",
    access: "Access",
    backup: "Backup and restore",
    upgrading: "Upgrading",
    postgres: "Many instances (PostgreSQL)",
    audit: "Audit",
    metrics: "Metrics and alerts",
    reliability: "Reliability",
    security: "Security",
    compatibility: "Compatibility",
    changelog: "Changelog",
    settings: "Settings",
    drivers: "Drivers",
    mounts: "Mounts",
    incidents: "Incidents",
    calls: "Calling Mooring",
    errors: "Errors",
    languages: "Languages",
    "rest-contract": "REST contract",
    architecture: "Architecture",
    contributing: "Contributing",
    attack: "Attacks",
    dependencies: "Dependencies",
    performance: "Performance",
    "driver list": "All drivers",
    "setting list": "All settings",
  },
  "zh-CN": {
    "section start": "开始",
    "section operators": "运维",
    "section data": "设置、驱动、存储",
    "section developers": "开发",
    "section internals": "内部",
    "section decisions": "设计决定",
    guide: "运维",
    reference: "参考",
    api: "REST 接口参考",
    english: "（英文）",
    start: "快速开始",
    "beside-your-server": "与现有服务器配合",
    console: "控制台",
    cli: "命令行",
    operating: "运维",
    containers: "Docker 与 NAS",
    configuration: "配置",
    access: "令牌与权限",
    backup: "备份与恢复",
    upgrading: "升级",
    postgres: "多个实例（PostgreSQL）",
    audit: "审计",
    metrics: "指标与告警",
    reliability: "可靠性",
    security: "安全",
    compatibility: "兼容性",
    changelog: "更新日志",
    settings: "设置",
    drivers: "驱动",
    mounts: "存储",
    incidents: "事件",
    calls: "调用接口",
    errors: "错误",
    languages: "语言",
    "rest-contract": "REST 约定",
    architecture: "架构",
    contributing: "参与开发",
    attack: "攻击测试",
    dependencies: "依赖",
    performance: "性能",
    "driver list": "全部驱动",
    "setting list": "全部设置",
  },
};

/** Navigation and words of the theme in a language. */
export function navigation(
  language: Language,
  sidebar: Sidebar,
  version: string,
): LocaleSpecificConfig<DefaultTheme.Config> {
  const words = WORDS[language];
  const root = language === "en" ? "/" : `/${language}/`;
  const wordOf = (name: string): string => words[name] ?? name;
  const item = (name: string): Item =>
    sidebar.pages.includes(name)
      ? { text: wordOf(name), link: `${root}${name}` }
      : { text: `${wordOf(name)}${wordOf("english")}`, link: `/${name}` };
  const section = (name: string, pages: readonly string[]) => ({
    text: wordOf(`section ${name}`),
    items: pages.map(item),
  });
  const reference = {
    text: wordOf("reference"),
    items: [
      { text: wordOf("setting list"), link: `${root}setting/` },
      { text: wordOf("driver list"), link: `${root}driver/` },
    ],
  };
  const internals = [
    section("internals", INTERNALS),
    { text: wordOf("section decisions"), collapsed: true, items: [...sidebar.decisions] },
  ];
  const guide = [
    ...Object.entries(SECTIONS).map(([name, pages]) => section(name, pages)),
    reference,
    { ...section("internals", [...INTERNALS, "decisions/"]), collapsed: true },
  ];
  return {
    description:
      language === "en"
        ? "Settings and driver catalogue of storage-aggregation sites"
        : "存储聚合站点的设置与驱动目录服务",
    themeConfig: {
      nav: [
        { text: wordOf("start"), link: `${root}start` },
        { text: wordOf("guide"), link: item("operating").link },
        { text: wordOf("section developers"), link: item("calls").link },
        {
          text: wordOf("reference"),
          items: [
            ...reference.items,
            item("configuration"),
            item("cli"),
            item("errors"),
            // The service redirects it to its own page, outside of the site.
            { text: wordOf("api"), link: "/reference", target: "_self" },
          ],
        },
        { text: version, link: item("changelog").link },
      ],
      sidebar: {
        [`${root}driver/`]: [
          { text: wordOf("driver list"), link: `${root}driver/`, items: [...sidebar.drivers] },
        ],
        [`${root}setting/`]: [
          { text: wordOf("setting list"), link: `${root}setting/`, items: [...sidebar.settings] },
        ],
        ...(language === "en" ? internalSidebars(internals) : {}),
        [root]: guide,
      },
      ...themeWords(language),
    },
  };
}

function internalSidebars(items: DefaultTheme.SidebarItem[]): DefaultTheme.SidebarMulti {
  const places = [...INTERNALS, "decisions/"];
  return Object.fromEntries(places.map((place) => [`/${place}`, items]));
}

/** Words that the theme has in English only. */
function themeWords(language: Language): DefaultTheme.Config {
  if (language === "en") return { outline: { level: [2, 3] } };
  return {
    outline: { level: [2, 3], label: "本页内容" },
    docFooter: { prev: "上一页", next: "下一页" },
    darkModeSwitchLabel: "外观",
    lightModeSwitchTitle: "切换到浅色",
    darkModeSwitchTitle: "切换到深色",
    sidebarMenuLabel: "菜单",
    returnToTopLabel: "回到顶部",
    langMenuLabel: "语言",
    skipToContentLabel: "跳到正文",
    notFound: {
      title: "没有这个页面",
      quote: "地址可能写错了，或页面已移走。",
      linkLabel: "回到首页",
      linkText: "回到首页",
    },
  };
}
