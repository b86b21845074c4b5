// The least that a site of documents needs; in yours, take the component and the page.
export default {
  title: "Private training",
  url: "https://docs.example",
  baseUrl: "/docs/",
  onBrokenLinks: "throw",
  presets: [["classic", { docs: { routeBasePath: "/" }, blog: false }]],
};
