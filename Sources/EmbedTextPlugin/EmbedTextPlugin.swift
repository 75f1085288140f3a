import PackagePlugin

/// Turns the SQL scripts of a target, or the files of its page, into one Swift file, before the target is compiled.
///
/// Put it on the target whose folder holds the files: only then does an incremental build notice new ones.
@main struct EmbedTextPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let target = target as? any SourceModuleTarget else { return [] }
        let files = ["sql", "mustache", "css", "js", "svg"]
            .flatMap { target.sourceFiles(withSuffix: ".\($0)").map(\.url) }
            .sorted { $0.path < $1.path }
        let output = context.pluginWorkDirectoryURL.appending(path: "Embedded.swift")
        return [
            .buildCommand(
                displayName: "Embedding \(files.count) files",
                executable: try context.tool(named: "EmbedText").url,
                arguments: [output.path, target.directoryURL.path] + files.map(\.path),
                inputFiles: files,
                outputFiles: [output])
        ]
    }
}
